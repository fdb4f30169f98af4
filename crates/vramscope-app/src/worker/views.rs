//! The questions of single views, one file each.

mod allocator;
mod compare;
mod export;
mod filter;
mod flame;
mod lanes;
mod overview;
mod segments;
mod table;
mod what_if;

pub(super) use lanes::line_facts;

use super::document::Document;
use super::painter::Painter;
use crate::protocol::{Answer, Extra, Question};

/// What the views keep from one question to the next.
#[derive(Default)]
pub(super) struct Caches {
    allocator: allocator::Cache,
    compare: compare::Cache,
    export: export::Cache,
    filter: filter::Cache,
    flame: flame::Cache,
    lanes: lanes::Cache,
    overview: overview::Cache,
    segments: segments::Cache,
    table: table::Cache,
    what_if: what_if::Cache,
}

/// Finds out ahead what the overview of the first device says.
pub(super) fn prepare_overview(document: &Document, caches: &mut Caches) {
    if let Some(device) = document.devices().next() {
        overview::prepare(document, device, &mut caches.overview);
    }
}

/// The answer, with what travels beside it; `None` if there is nothing to say.
pub(super) fn answer(
    question: &Question,
    document: &Document,
    painter: &mut Painter,
    caches: &mut Caches,
) -> Option<(Answer, Extra)> {
    Some(match question {
        Question::Allocator(question) => {
            let (answer, extra) =
                allocator::answer(question, document, painter, &mut caches.allocator)?;
            (Answer::Allocator(answer), extra)
        }
        Question::Compare(question) => {
            let (answer, extra) = compare::answer(question, document, &mut caches.compare)?;
            (Answer::Compare(answer), extra)
        }
        Question::Export(question) => {
            let (answer, extra) = export::answer(question, document, &mut caches.export)?;
            (Answer::Export(answer), extra)
        }
        Question::Filter(question) => {
            let (answer, extra) = filter::answer(question, document, &mut caches.filter)?;
            (Answer::Filter(answer), extra)
        }
        Question::Flame(question) => {
            let (answer, extra) = flame::answer(question, document, &mut caches.flame)?;
            (Answer::Flame(answer), extra)
        }
        // Asked of files of graphs only, which are no documents.
        Question::Graph(_) => return None,
        Question::Lanes(question) => {
            let (answer, extra) = lanes::answer(question, document, &mut caches.lanes)?;
            (Answer::Lanes(answer), extra)
        }
        Question::Overview(question) => {
            let (answer, extra) = overview::answer(question, document, &mut caches.overview)?;
            (Answer::Overview(answer), extra)
        }
        Question::Segments(question) => {
            let (answer, extra) = segments::answer(question, document, &mut caches.segments)?;
            (Answer::Segments(answer), extra)
        }
        Question::Table(question) => {
            let (answer, extra) = table::answer(question, document, &mut caches.table)?;
            (Answer::Table(answer), extra)
        }
        Question::WhatIf(question) => {
            let (answer, extra) = what_if::answer(question, document, &mut caches.what_if)?;
            (Answer::WhatIf(answer), extra)
        }
    })
}
