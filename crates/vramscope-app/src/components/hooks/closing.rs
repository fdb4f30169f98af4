//! Frees what browsers would keep.

use web_sys::ImageBitmap;
use yew::prelude::*;

/// Frees a bitmap's memory when another replaces it, without waiting for the browser's garbage collector.
#[hook]
pub(crate) fn use_closing(bitmap: Option<ImageBitmap>) {
    use_effect_with(bitmap, |bitmap: &Option<ImageBitmap>| {
        let bitmap = bitmap.clone();
        move || {
            if let Some(bitmap) = bitmap {
                bitmap.close();
            }
        }
    });
}
