"""parallel_calls.py: runs one function on several threads that start together."""

import threading


def together(count, work):
    """Run work(0) … work(count - 1), each in its own thread, with a common start."""
    barrier, errors = threading.Barrier(count), []

    def run(number):
        try:
            barrier.wait(60)
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    if errors:
        raise errors[0]
