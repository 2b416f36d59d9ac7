"""The command line. Imports everything above, where a command needs it."""
