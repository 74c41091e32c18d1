"""The page "Traps": each module holds the questions of some traps, `form` how every one is asked and answered."""
