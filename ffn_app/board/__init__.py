"""The live board: a component that draws named arrays as heat cells and edits them in place."""
