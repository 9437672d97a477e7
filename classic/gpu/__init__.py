"""The example of a classic DRA driver: GPUs whose memory claims share."""
