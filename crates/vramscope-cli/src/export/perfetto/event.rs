//! Trace events, written one by one.

use std::io::Write;

use serde::Serialize;
use serde_json::{Value, json};

use super::super::{failed, write_json};
use crate::failure::Failure;

/// Maximum length of a text, in bytes.
const TEXT_LIMIT_BYTES: usize = 4096;

/// Cuts a text to [`TEXT_LIMIT_BYTES`].
pub(super) fn clip(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_LIMIT_BYTES)]
}

/// One event, with the format's field names.
#[derive(Serialize, Default)]
struct Event<'a> {
    /// The phase: M names things, C is a counter, X a slice, i an instant, b and e begin and end an asynchronous slice.
    ph: &'static str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'static str>,
    pid: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tid: Option<u32>,
    ts: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<u64>,
    /// The scope of an instant: g global, p process, t thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'static str>,
    /// The number of an asynchronous slice in its process.
    #[serde(skip_serializing_if = "Option::is_none")]
    id2: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Value>,
}

/// The list of events being written.
pub(super) struct Trace<'a> {
    out: &'a mut dyn Write,
    /// The process of the following events.
    pub(super) process: u64,
    is_begun: bool,
}

impl<'a> Trace<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self {
            out,
            process: 0,
            is_begun: false,
        }
    }

    fn put(&mut self, event: Event<'_>) -> Result<(), Failure> {
        let separator: &[u8] = if self.is_begun { b",\n" } else { b"\n" };
        self.is_begun = true;
        self.out.write_all(separator).map_err(failed)?;
        write_json(
            self.out,
            &Event {
                pid: self.process,
                ..event
            },
        )
    }

    pub(super) fn name_process(&mut self, name: &str) -> Result<(), Failure> {
        self.put(Event {
            ph: "M",
            name: "process_name",
            args: Some(json!({ "name": name })),
            ..Event::default()
        })
    }

    pub(super) fn name_thread(&mut self, thread: u32, name: &str) -> Result<(), Failure> {
        for (key, args) in [
            ("thread_name", json!({ "name": name })),
            ("thread_sort_index", json!({ "sort_index": thread })),
        ] {
            self.put(Event {
                ph: "M",
                name: key,
                tid: Some(thread),
                args: Some(args),
                ..Event::default()
            })?;
        }
        Ok(())
    }

    pub(super) fn counter(&mut self, name: &str, ts: i64, bytes: u64) -> Result<(), Failure> {
        self.put(Event {
            ph: "C",
            name,
            ts,
            args: Some(json!({ "bytes": bytes })),
            ..Event::default()
        })
    }

    /// A slice on a thread; slices may nest.
    pub(super) fn slice(
        &mut self,
        name: &str,
        thread: u32,
        (ts, dur): (i64, u64),
        args: Value,
    ) -> Result<(), Failure> {
        self.put(Event {
            ph: "X",
            name: clip(name),
            cat: Some("annotation"),
            tid: Some(thread),
            ts,
            dur: Some(dur),
            args: Some(args),
            ..Event::default()
        })
    }

    pub(super) fn instant(
        &mut self,
        name: &str,
        thread: u32,
        ts: i64,
        args: Value,
    ) -> Result<(), Failure> {
        self.put(Event {
            ph: "i",
            name: clip(name),
            cat: Some("allocator"),
            tid: Some(thread),
            ts,
            s: Some("t"),
            args: Some(args),
            ..Event::default()
        })
    }

    /// Begins the asynchronous slice `number` of the process.
    pub(super) fn begin(
        &mut self,
        name: &str,
        number: usize,
        ts: i64,
        args: Value,
    ) -> Result<(), Failure> {
        self.asynchronous("b", name, number, ts, Some(args))
    }

    /// Ends the asynchronous slice, which viewers find by name and number.
    pub(super) fn end(&mut self, name: &str, number: usize, ts: i64) -> Result<(), Failure> {
        self.asynchronous("e", name, number, ts, None)
    }

    fn asynchronous(
        &mut self,
        ph: &'static str,
        name: &str,
        number: usize,
        ts: i64,
        args: Option<Value>,
    ) -> Result<(), Failure> {
        self.put(Event {
            ph,
            name: clip(name),
            cat: Some("allocation"),
            ts,
            id2: Some(json!({ "local": format!("{number:#x}") })),
            args,
            ..Event::default()
        })
    }
}
