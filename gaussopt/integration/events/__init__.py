"""Motions with contacts from event to event."""
