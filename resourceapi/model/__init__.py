"""The structs of the API, as the server's Go types have them."""
