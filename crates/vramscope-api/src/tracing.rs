//! Spans of the [`tracing`](https://docs.rs/tracing) crate as ranges.

use std::fmt::{self, Write as _};

use tracing::Subscriber;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use crate::symbols::capture;
use crate::{range_pop, range_push};

/// A layer that turns every span into a range: `forward`, or with its fields `train{step=3}`.
///
/// The range lasts while the span is entered, on the thread that entered it. The span of a future therefore becomes
/// one range for each poll, on whichever thread, and covers none of the time in between.
///
/// ```
/// use tracing_subscriber::prelude::*;
///
/// tracing_subscriber::registry()
///     .with(vramscope_api::tracing::tracing_layer())
///     .init();
/// tracing::info_span!("train", step = 3).in_scope(|| { /* … */ });
/// ```
/// Filter it like other layers: `tracing_layer().with_filter(LevelFilter::INFO)`.
#[must_use]
pub fn tracing_layer() -> TracingLayer {
    TracingLayer(())
}

/// The layer returned by [`tracing_layer`].
#[derive(Debug)]
pub struct TracingLayer(());

/// The name of a span with fields, stored in the span's extensions.
struct SpanName {
    text: String,
    /// Whether the text contains a field.
    has_fields: bool,
}

impl<S: Subscriber + for<'s> LookupSpan<'s>> Layer<S> for TracingLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if capture().is_none() || attributes.is_empty() {
            return;
        }
        if let Some(span) = context.span(id) {
            let mut name = SpanName::new(span.name());
            attributes.record(&mut name);
            span.extensions_mut().insert(name);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if capture().is_none() {
            return;
        }
        if let Some(span) = context.span(id) {
            let mut extensions = span.extensions_mut();
            if let Some(name) = extensions.get_mut::<SpanName>() {
                values.record(name);
                return;
            }
            let mut name = SpanName::new(span.name());
            values.record(&mut name);
            extensions.insert(name);
        }
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        if capture().is_none() {
            return;
        }
        // Always begin a range, as the exit ends one.
        match context.span(id) {
            Some(span) => match span.extensions().get::<SpanName>() {
                Some(name) => range_push(name),
                None => range_push(span.name()),
            },
            None => range_push(""),
        };
    }

    fn on_exit(&self, _id: &Id, _context: Context<'_, S>) {
        range_pop();
    }
}

impl SpanName {
    fn new(span: &str) -> Self {
        Self {
            text: span.to_owned(),
            has_fields: false,
        }
    }
}

impl fmt::Display for SpanName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)?;
        out.write_str(if self.has_fields { "}" } else { "" })
    }
}

impl Visit for SpanName {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let before = if self.has_fields { ", " } else { "{" };
        self.has_fields = true;
        // Writing to a `String` cannot fail. Errors of the value's own formatting are ignored.
        let _ = write!(self.text, "{before}{field}={value:?}");
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }
}
