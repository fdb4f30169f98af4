//! Pinned host memory and a little device memory (2.14 and later).

use crate::snapshot::Snapshot;

/// Batches that a loader pins and that are copied to the device.
#[must_use]
pub fn host(_seed: u64) -> Snapshot {
    let mut text = String::new();
    for batch in 0..6 {
        text.push_str(&format!(
            "host alloc pinned{batch} 6MiB loader.py:41:pin_batch > loader.py:12:collate\n\
             wait 300us\n\
             alloc batch{batch} 6MiB train.py:20:step > loader.py:55:to_device\n"
        ));
        if batch >= 2 {
            let done = batch - 2;
            text.push_str(&format!("host free pinned{done}\nfree batch{done}\n"));
        }
    }
    // The text is constant and correct: a test builds it.
    crate::text::snapshot(&text).unwrap_or_default()
}
