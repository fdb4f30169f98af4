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

/// A layer that makes every span a range: `forward`, or with its fields `train{step=3}`.
///
/// A span is a range for as long as it is entered, on the thread that entered it. So a future's span is as many ranges as
/// it was polled, on whichever threads, and nothing of the time in between.
///
/// ```
/// use tracing_subscriber::prelude::*;
///
/// tracing_subscriber::registry()
///     .with(vramscope_api::tracing::tracing_layer())
///     .init();
/// tracing::info_span!("train", step = 3).in_scope(|| { /* … */ });
/// ```
/// Filter it as other layers: `tracing_layer().with_filter(LevelFilter::INFO)`.
#[must_use]
pub fn tracing_layer() -> TracingLayer {
    TracingLayer(())
}

/// See [`tracing_layer`].
#[derive(Debug)]
pub struct TracingLayer(());

/// What a span is called, kept beside it.
struct Name {
    text: String,
    /// Whether a field stands in it.
    has_fields: bool,
}

impl<S: Subscriber + for<'s> LookupSpan<'s>> Layer<S> for TracingLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if capture().is_none() || attributes.is_empty() {
            return;
        }
        if let Some(span) = context.span(id) {
            let mut name = Name::new(span.name());
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
            if let Some(name) = extensions.get_mut::<Name>() {
                values.record(name);
                return;
            }
            let mut name = Name::new(span.name());
            values.record(&mut name);
            extensions.insert(name);
        }
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        if capture().is_none() {
            return;
        }
        // A range in any case: the exit will end one.
        match context.span(id) {
            Some(span) => match span.extensions().get::<Name>() {
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

impl Name {
    fn new(span: &str) -> Self {
        Self {
            text: span.to_owned(),
            has_fields: false,
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)?;
        out.write_str(if self.has_fields { "}" } else { "" })
    }
}

impl Visit for Name {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let before = if self.has_fields { ", " } else { "{" };
        self.has_fields = true;
        // Writing to a `String` cannot fail, and what a value's own code does wrong is not ours.
        let _ = write!(self.text, "{before}{field}={value:?}");
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }
}
