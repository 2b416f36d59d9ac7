"""What turns a verdict: settings that the paper does not give, and the unit of salaries. Imports what studies share."""
