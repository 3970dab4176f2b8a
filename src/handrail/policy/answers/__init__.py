"""What can be answered to plans, questions and forms, and what each answer comes to."""
