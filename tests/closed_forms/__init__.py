"""What is known of problems in closed form, which tests compare with."""
