"""`handrail doctor`: looks at everything that Handrail needs, and says what is wrong and how to mend it."""
