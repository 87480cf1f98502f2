"""See the module essays in this package."""
