"""The page that holds our results against the published ones."""
