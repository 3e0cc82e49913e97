"""What a run is told and what it leaves: settings, files, errors, reports, tables, pictures."""
