//! Files that grow in one respect, to see whether time and memory grow in proportion.

use std::fmt::Write as _;

/// A way to grow: its name, and the file of size `n`.
pub(crate) type Shape = (&'static str, fn(usize) -> String);

/// All shapes, each as JSON, which is quick to write and treated like pickle after the reader.
pub(crate) const SHAPES: [Shape; 22] = [
    ("live", |n| trace(n, |i| alloc(i, 512, 0))),
    ("alloc_and_free", |n| {
        trace(n, |_| both(&alloc(0, 512, 0), &free(0, 512)))
    }),
    ("freed_backwards", |n| {
        trace(n, |i| {
            if i < n / 2 {
                alloc(i, 512, 0)
            } else {
                free(n - 1 - i, 512)
            }
        })
    }),
    ("freed_forwards", |n| {
        trace(n, |i| {
            if i < n / 2 {
                alloc(i, 512, 0)
            } else {
                free(i - n / 2, 512)
            }
        })
    }),
    ("freed_three_times", |n| trace(n, |i| free(i / 3, 512))),
    ("streams", |n| trace(n, |i| alloc(i, 512, i))),
    ("sizes", |n| trace(n, |i| alloc(i, 1 + i * 7 % 100_000, 0))),
    ("out_of_memory", |n| {
        trace(n, |_| {
            r#"{"action":"oom","size":1048576,"device_free":0,"stream":0,"frames":[]}"#.to_owned()
        })
    }),
    ("mapped", |n| trace(n, |i| segment_event("segment_map", i))),
    ("mapped_and_unmapped", |n| {
        trace(n, |_| {
            both(
                &segment_event("segment_map", 0),
                &segment_event("segment_unmap", 0),
            )
        })
    }),
    ("own_stacks", |n| {
        trace(n, |i| framed(i, &format!("[{}]", frame(i))))
    }),
    ("deep_stack", |n| {
        let frames: Vec<String> = (0..n).map(frame).collect();
        trace(1, |i| framed(i, &format!("[{}]", frames.join(","))))
    }),
    ("deep_stacks", |n| {
        let side = n.isqrt();
        trace(side, |i| {
            let frames: Vec<String> = (0..side).map(|depth| frame(depth * side + i)).collect();
            framed(i, &format!("[{}]", frames.join(",")))
        })
    }),
    ("segments", |n| {
        let segments: Vec<String> = (0..n).map(|i| segment(i, 1)).collect();
        format!(
            r#"{{"segments":[{}],"device_traces":[[]]}}"#,
            segments.join(",")
        )
    }),
    ("blocks", |n| {
        format!(r#"{{"segments":[{}],"device_traces":[[]]}}"#, segment(0, n))
    }),
    ("pools", |n| {
        let segments: Vec<String> = (0..n)
            .map(|i| segment(i, 1).replace("[0,0]", &format!("[{i},1]")))
            .collect();
        format!(
            r#"{{"segments":[{}],"device_traces":[[]]}}"#,
            segments.join(",")
        )
    }),
    ("metadata", |n| {
        trace(n, |i| with_metadata(i, &format!("step {i}")))
    }),
    ("long_metadata", |n| {
        let (side, text) = (n.isqrt(), "x".repeat(n.isqrt() * 20));
        trace(side, |i| with_metadata(i, &format!("{text}{i}")))
    }),
    ("nested_annotations", |n| {
        annotated(n, |i| {
            let stage = if i < n / 2 { "START" } else { "END" };
            (i.min(n - 1 - i), stage)
        })
    }),
    ("annotations_in_a_row", |n| {
        annotated(n, |i| (i / 2, ["START", "END"][i % 2]))
    }),
    // The allocator's model takes the block before, each time.
    ("streams_in_segments", |n| {
        let segments: Vec<String> = (0..n).map(segment_of_stream).collect();
        let events: Vec<String> = (0..n).map(event_in_segment).collect();
        format!(
            r#"{{"segments":[{}],"device_traces":[[{}]]}}"#,
            segments.join(","),
            events.join(",")
        )
    }),
    ("settings", |n| {
        let mut settings = String::new();
        for i in 0..n {
            let comma = if i == 0 { "" } else { "," };
            let _ = write!(settings, r#"{comma}"key{i}":{i}"#);
        }
        format!(r#"{{"segments":[],"device_traces":[[]],"allocator_settings":{{{settings}}}}}"#)
    }),
];

/// The address of the `place`-th block of a megabyte.
fn address(place: usize) -> usize {
    0x7f00_0000_0000 + (place << 20)
}

fn trace(n: usize, event: impl Fn(usize) -> String) -> String {
    let events: Vec<String> = (0..n).map(event).collect();
    format!(
        r#"{{"segments":[],"device_traces":[[{}]]}}"#,
        events.join(",")
    )
}

fn both(one: &str, two: &str) -> String {
    format!("{one},{two}")
}

fn alloc(place: usize, bytes: usize, stream: usize) -> String {
    let address = address(place);
    format!(r#"{{"action":"alloc","addr":{address},"size":{bytes},"stream":{stream},"frames":[]}}"#)
}

fn free(place: usize, bytes: usize) -> String {
    let address = address(place);
    format!(
        r#"{{"action":"free_completed","addr":{address},"size":{bytes},"stream":0,"frames":[]}}"#
    )
}

fn segment_event(action: &str, place: usize) -> String {
    let address = address(place * 2);
    format!(r#"{{"action":"{action}","addr":{address},"size":2097152,"stream":0,"frames":[]}}"#)
}

fn framed(place: usize, frames: &str) -> String {
    let address = address(place);
    format!(r#"{{"action":"alloc","addr":{address},"size":512,"stream":0,"frames":{frames}}}"#)
}

fn with_metadata(place: usize, text: &str) -> String {
    let address = address(place);
    format!(
        r#"{{"action":"alloc","addr":{address},"size":512,"stream":0,"time_us":{place},"user_metadata":"{text}","frames":[]}}"#
    )
}

/// This many events, each with an annotation of this number and stage.
fn annotated(n: usize, annotation: impl Fn(usize) -> (usize, &'static str)) -> String {
    let events: Vec<String> = (0..n).map(|i| with_metadata(i, "")).collect();
    let annotations: Vec<String> = (0..n)
        .map(|i| {
            let (number, stage) = annotation(i);
            format!(r#"{{"name":"step {number}","stage":"{stage}","device":0,"time_us":{i}}}"#)
        })
        .collect();
    format!(
        r#"{{"segments":[],"device_traces":[[{}]],"external_annotations":[{}]}}"#,
        events.join(","),
        annotations.join(",")
    )
}

fn frame(place: usize) -> String {
    format!(r#"{{"name":"function{place}","filename":"file{place}.py","line":{place}}}"#)
}

/// A segment with this many blocks.
fn segment(place: usize, blocks: usize) -> String {
    let start = 0x7f00_0000_0000 + (place << 21);
    let list: Vec<String> = (0..blocks)
        .map(|block| {
            let address = start + block * 512;
            format!(
                r#"{{"address":{address},"size":512,"requested_size":500,"state":"active_allocated","frames":[]}}"#
            )
        })
        .collect();
    format!(
        r#"{{"device":0,"address":{start},"total_size":{},"stream":0,"segment_type":"large","segment_pool_id":[0,0],"is_expandable":false,"frames":[],"blocks":[{}]}}"#,
        blocks * 512,
        list.join(",")
    )
}

/// A segment of its own stream, with a live block in the middle.
fn segment_of_stream(place: usize) -> String {
    let start = address(place * 2);
    let block = |offset: usize, bytes: usize, state: &str| {
        let address = start + offset;
        format!(
            r#"{{"address":{address},"size":{bytes},"requested_size":{bytes},"state":"{state}","frames":[]}}"#
        )
    };
    let blocks = [
        block(0, 512, "inactive"),
        block(512, 512, "active_allocated"),
        block(1024, (2 << 20) - 1024, "inactive"),
    ];
    format!(
        r#"{{"device":0,"address":{start},"total_size":2097152,"stream":{place},"segment_type":"small","segment_pool_id":[0,0],"is_expandable":false,"frames":[],"blocks":[{}]}}"#,
        blocks.join(",")
    )
}

fn event_in_segment(place: usize) -> String {
    let address = address(place * 2) + 512;
    format!(r#"{{"action":"alloc","addr":{address},"size":512,"stream":{place},"frames":[]}}"#)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shape_is_json() {
        for (name, file) in SHAPES {
            for n in [0, 1, 9, 100] {
                let text = file(n);
                serde_json::from_str::<serde_json::Value>(&text)
                    .unwrap_or_else(|error| panic!("{name} of {n}: {error}\n{text}"));
            }
        }
    }
}
