"""What people ask for, by phenomenon: each trained, and compared with what is known of it."""
