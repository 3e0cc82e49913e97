"""Several devices and several processes: what lies where, and who decides."""
