"""One module for each mini-app, of its name, with a function cases() that yields its Cases."""
