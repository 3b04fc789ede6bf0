"""One file per subcommand: arguments in, one call, result out."""
