//! Answers to all questions about a snapshot; those of single views in one file each.

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
use super::range::range_facts;
use super::{answer, describe};
use crate::protocol::{Answer, Ask, Extra, Question};

/// What the views keep from one question to the next.
#[derive(Default)]
pub(super) struct Caches {
    allocator: allocator::Cache,
    compare: compare::Cache,
    filter: filter::Cache,
    flame: flame::Cache,
    lanes: lanes::Cache,
    overview: overview::Cache,
    table: table::Cache,
    what_if: what_if::Cache,
}

/// Finds out ahead what the overview of the first device says.
pub(super) fn prepare_overview(document: &Document, caches: &mut Caches) {
    if let Some(device) = document.devices().next() {
        overview::prepare(device, &mut caches.overview);
    }
}

/// The answer, with what travels beside it; `None` if there is nothing to say.
pub(super) fn answer(
    question: &Question,
    document: &Document,
    painter: &mut Painter,
    caches: &mut Caches,
) -> Option<(Answer, Extra)> {
    match question {
        // Pictures become bitmaps where they are drawn; graphs are asked about in files that have no document.
        Question::Draw(_) | Question::Graph(_) => None,
        Question::Hit(of) => alone(of, answer::hit(document, painter, of)),
        Question::Outline(of) => alone(of, answer::outline(document, of)),
        Question::Minimap(of) => alone(of, answer::minimap(document, of)),
        Question::Legend(of) => alone(of, painter.colours.legend(document, of)),
        Question::Moment(of) => alone(of, describe::placed_moment(document, of)),
        Question::Range(of) => alone(of, range_facts(document, of)),
        Question::Details(of) => alone(of, describe::details(document, of)),
        Question::Compare(of) => with_extra(of, compare::answer(of, document, &mut caches.compare)),
        Question::Filter(of) => alone(of, filter::answer(of, document, &mut caches.filter)),
        Question::Lanes(of) => alone(of, lanes::answer(of, document, &mut caches.lanes)),
        Question::Overview(of) => alone(of, overview::answer(of, document, &mut caches.overview)),
        Question::Segments(of) => alone(of, segments::answer(of, document)),
        Question::WhatIf(of) => alone(of, what_if::answer(of, document, &mut caches.what_if)),
        Question::Allocator(of) => {
            let answered = allocator::answer(of, document, painter, &mut caches.allocator);
            with_extra(of, answered)
        }
        Question::Export(of) => with_extra(of, export::answer(of, document)),
        Question::Flame(of) => with_extra(of, flame::answer(of, document, &mut caches.flame)),
        Question::Table(of) => with_extra(of, table::answer(of, document, &mut caches.table)),
    }
}

/// An answer beside which nothing travels.
fn alone<Q: Ask>(question: &Q, answer: Option<Q::Answer>) -> Option<(Answer, Extra)> {
    with_extra(question, answer.map(|answer| (answer, Extra::Nothing)))
}

/// The answer to this question, as it travels.
pub(super) fn with_extra<Q: Ask>(
    _: &Q,
    answered: Option<(Q::Answer, Extra)>,
) -> Option<(Answer, Extra)> {
    answered.map(|(answer, extra)| (Q::wrap(answer), extra))
}
