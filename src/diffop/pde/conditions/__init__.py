"""Conditions as they are written: what is prescribed on a part of a boundary."""
