//! Answers to [`protocol::views::overview`](crate::protocol::views::overview).

mod file;

use vramscope_core::analysis::report::overview::{Overview, overview};
use vramscope_core::model::DeviceIndex;

use super::super::document::{Device, Document};
use crate::protocol::views::overview::{Answer, Question};

/// Call sites that are listed at the peak.
const SITES: usize = 10;

/// What is kept from one question to the next: an overview takes a while to make, and changes never.
#[derive(Default)]
pub(super) struct Cache {
    devices: Vec<(DeviceIndex, Overview)>,
}

/// The answer; `None` if there is nothing to say.
pub(super) fn answer(
    question: &Question,
    document: &Document,
    cache: &mut Cache,
) -> Option<Answer> {
    Some(match *question {
        Question::Device { device } => {
            let found = prepare(document.device(device)?, cache);
            Answer::Device(Box::new(found.clone()))
        }
        Question::File => Answer::File(Box::new(file::details(document))),
    })
}

/// What was found out about `device`, now if not before.
pub(super) fn prepare<'a>(device: Device<'_>, cache: &'a mut Cache) -> &'a Overview {
    let index = device.history.device;
    let known = cache.devices.iter().position(|(known, _)| *known == index);
    let place = known.unwrap_or_else(|| {
        cache.devices.push((index, overview(*device, SITES)));
        cache.devices.len() - 1
    });
    &cache.devices[place].1
}

#[cfg(test)]
mod tests;
