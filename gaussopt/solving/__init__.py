"""From a step or a program to a verified answer."""
