"""What is wrong in a cluster as a whole: a function for each subject, whose findings are grouped by cause."""
