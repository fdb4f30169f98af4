//! What is captured is what happened.
