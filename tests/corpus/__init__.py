"""Random requests and valid objects, made from seeds and `tables.json`; unit tests, fuzz runs and e2e tests share them."""
