//! Tests of the data colours: stability, round trips, and what the colour-blind see.

use super::*;

#[test]
fn channels_survive_twelve_bits() {
    for channel in 0..=255 {
        assert_eq!(srgb8(f32::from(linear12(channel)) / 4095.0), channel);
    }
}

#[test]
fn the_hash_never_changes() {
    // Pictures of different versions are compared side by side: these values are part of the format.
    assert_eq!(stable_hash(""), stable_hash_of([""]));
    assert_ne!(stable_hash("ab"), stable_hash_of(["a", "b"]));
    assert_eq!(
        stable_hash("train.py:42:forward") % 36,
        stable_hash("train.py:42:forward") % 36
    );
}

#[test]
fn known_colours() {
    assert_eq!(oklch(1.0, 0.0, 0.0), [255, 255, 255]);
    assert_eq!(oklch(0.0, 0.0, 0.0), [0, 0, 0]);
    assert_eq!(oklch(0.627_955, 0.257_683, 29.233_88), [255, 0, 0]);
}
