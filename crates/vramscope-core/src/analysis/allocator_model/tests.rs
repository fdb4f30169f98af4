//! The model on small stories; what torch did under many settings is in `tests/it/allocator_model.rs`.
