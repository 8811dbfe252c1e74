"""The tables of every library as frames: a selection of rows goes in, a table of the caller's own kind comes out."""
