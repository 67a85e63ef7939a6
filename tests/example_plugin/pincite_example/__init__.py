"""An example of each plug-in that Pincite takes (docs/plugins.md)."""
