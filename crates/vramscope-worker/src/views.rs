//! Dispatches questions about a snapshot. The questions of each view are answered in a file of their own.

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

use vramscope_core::analysis::report::file_details::file_details;
use vramscope_protocol::views::what_if::Found;
use vramscope_protocol::{Answer, Ask, Extra, Question, with_extra};

use super::document::{Device, Document};
use super::painter::Painter;
use super::range::range_facts;
use super::{answer, describe, opened, reserved};

/// The data that views keep from one question to the next.
#[derive(Default)]
pub(super) struct Caches {
    allocator: allocator::Cache,
    compare: compare::Cache,
    filter: filter::Cache,
    lanes: lanes::Cache,
    overview: overview::Cache,
    table: table::Cache,
    what_if: what_if::Cache,
}

/// What questions will need, in steps of its computing.
#[derive(Clone, Copy)]
pub(super) enum Ahead {
    Sizes,
    Overview,
    Map,
    Words,
}

/// Computes a step ahead of the questions about a device.
pub(super) fn prepare(ahead: Ahead, device: Device<'_>, caches: &mut Caches) {
    match ahead {
        Ahead::Sizes => {
            let _sizes = device.block_sizes();
        }
        Ahead::Overview => {
            overview::prepare(device, &mut caches.overview);
        }
        Ahead::Map => {
            let _map = device.map();
        }
        Ahead::Words => {
            caches.filter.vocabulary(device);
        }
    }
}

/// Keeps what the planner found.
pub(super) fn take(found: Found, document: &Document, caches: &mut Caches) {
    caches.what_if.take(found, document);
}

/// The answer with its attachment; `None` if there is no answer.
pub(super) fn answer(
    question: &Question,
    document: &Document,
    painter: &mut Painter,
    caches: &mut Caches,
) -> Option<(Answer, Extra)> {
    match question {
        Question::BandLabels(of) => alone(of, painter.labels(document, of)),
        Question::Reserved(of) => alone(of, answer::reserved(document, of)),
        Question::Hit(of) => alone(of, answer::hit(document, painter, of)),
        Question::Outline(of) => alone(of, answer::outline(document, painter, of)),
        Question::Legend(of) => alone(of, painter.colours.legend(document, of)),
        Question::Minimap(of) => alone(of, answer::minimap(document, of)),
        Question::Moment(of) => alone(of, describe::placed_moment(document, of)),
        Question::MomentAt(of) => alone(of, describe::moment_at(document, of)),
        Question::Range(of) => alone(of, range_facts(document, of)),
        Question::Details(of) => alone(of, describe::details(document, of)),
        Question::Previews(of) => alone(of, describe::previews(document, of)),
        Question::Event(of) => alone(of, describe::event(document, of)),
        Question::Devices(of) => alone(of, Some(opened::devices_of_pools(document, of))),
        Question::FileDetails(of) => alone(of, Some(file_details(document))),
        Question::Lanes(of) => alone(
            of,
            lanes::answer(of, document, &mut caches.lanes, &caches.what_if),
        ),
        Question::Filter(of) => alone(of, filter::answer(of, document, &mut caches.filter)),
        Question::Export(of) => with_extra(of, export::answer(of, document, &caches.what_if)),
        _ => of_view(question, document, painter, caches),
    }
}

/// The answer to a question of a single view.
fn of_view(
    question: &Question,
    document: &Document,
    painter: &mut Painter,
    caches: &mut Caches,
) -> Option<(Answer, Extra)> {
    match question {
        Question::Overview(of) => {
            let device = document.device(of.device)?;
            let overview = overview::prepare(device, &mut caches.overview);
            alone(of, Some(overview.clone()))
        }
        Question::Program(of) => alone(of, what_if::program(of, document)),
        Question::Conclusion(of) => {
            let device = document.device(of.device)?;
            alone(of, Some(caches.what_if.conclusion(device)))
        }
        Question::MapLanes(of) => {
            let device = document.device(of.device)?;
            alone(of, Some(segments::lanes(document, device)))
        }
        Question::Segment(of) => {
            let device = document.device(of.device)?;
            alone(of, reserved::details(document, device, of.piece, of.moment))
        }
        Question::Allocator(of) => {
            let answered = allocator::answer(of, document, painter, &mut caches.allocator);
            with_extra(of, answered)
        }
        Question::Compare(of) => with_extra(of, compare::answer(of, document, &mut caches.compare)),
        Question::Flame(of) => with_extra(of, flame::answer(of, document, &mut painter.colours)),
        Question::Table(of) => with_extra(
            of,
            table::answer(of, document, &mut painter.colours, &mut caches.table),
        ),
        // The worker itself draws, and other programs or files answer the rest.
        _ => None,
    }
}

/// An answer without an attachment.
fn alone<Q: Ask>(question: &Q, answer: Option<Q::Answer>) -> Option<(Answer, Extra)> {
    with_extra(question, answer.map(|answer| (answer, Extra::Nothing)))
}
