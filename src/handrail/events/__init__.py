"""What Handrail says happened: events, how frames become events, and what a screen makes of them. Pure."""
