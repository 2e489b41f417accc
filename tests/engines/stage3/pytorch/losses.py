from .functional import binary_cross_entropy_with_logits, cross_entropy, l1_loss, mse_loss  # noqa: F401
