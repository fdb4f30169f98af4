//! Frees what browsers would keep.

use web_sys::ImageBitmap;
use yew::prelude::*;

use super::use_effect_on;

/// Frees a bitmap's memory when another replaces it, without waiting for the browser's garbage collector.
#[hook]
pub(crate) fn use_closing(bitmap: Option<ImageBitmap>) {
    use_effect_on(bitmap, |bitmap: &Option<ImageBitmap>| {
        let bitmap = bitmap.clone();
        move || {
            if let Some(bitmap) = bitmap {
                bitmap.close();
            }
        }
    });
}
