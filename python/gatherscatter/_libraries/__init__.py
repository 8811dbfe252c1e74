"""Arrays of each library as arguments: what they are, how their memory is borrowed, how results are returned."""
