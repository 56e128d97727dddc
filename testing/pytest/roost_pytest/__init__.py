"""Fixtures that start a Roost server for tests."""

from .server import Roost, RoostError, start

__all__ = ["Roost", "RoostError", "start"]
