//! What is kept for the next visit. Private windows and sandboxes, as in a notebook, keep nothing; then a choice lasts
//! as long as the page.

use gloo::storage::{LocalStorage, Storage};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What is kept under `key`, if anything is.
#[must_use]
pub fn get<T: DeserializeOwned>(key: &str) -> Option<T> {
    is_there().then(|| LocalStorage::get(key).ok()).flatten()
}

/// Keeps `value` under `key`, where something can be kept.
pub fn set(key: &str, value: &impl Serialize) {
    if is_there() {
        let _ = LocalStorage::set(key, value);
    }
}

/// Forgets what is kept under `key`.
pub fn delete(key: &str) {
    if is_there() {
        LocalStorage::delete(key);
    }
}

/// gloo panics where there is no storage at all.
fn is_there() -> bool {
    let storage = web_sys::window().and_then(|window| window.local_storage().ok());
    storage.flatten().is_some()
}
