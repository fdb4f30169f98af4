//! Answers to [`protocol::views::overview`](crate::protocol::views::overview).

mod device;
mod file;

use vramscope_core::analysis::call_sites::{CallSiteId, CallSites};
use vramscope_core::analysis::live_at::SiteTotal;
use vramscope_core::analysis::overview::Overview;
use vramscope_core::model::DeviceIndex;
use vramscope_view::colour::{site_colour, stable_hash};
use vramscope_view::theme::Theme;

use super::super::document::{Device, Document};
use crate::protocol::Extra;
use crate::protocol::views::overview::{Answer, Question, Row};

/// What is kept from one question to the next: an overview takes a while to make, and changes never.
#[derive(Default)]
pub(super) struct Cache {
    devices: Vec<(DeviceIndex, Overview)>,
}

/// The answer, with what travels beside it; `None` if there is nothing to say.
pub(super) fn answer(
    question: &Question,
    document: &Document,
    cache: &mut Cache,
) -> Option<(Answer, Extra)> {
    let answer = match *question {
        Question::Device { device, theme } => {
            let theme = Theme::of(theme);
            let of = document.device(device)?;
            let found = prepare(document, of, cache);
            Answer::Device(Box::new(device::shown(document, of, found, &theme)))
        }
        Question::File { theme } => {
            Answer::File(Box::new(file::details(document, &Theme::of(theme))))
        }
    };
    Some((answer, Extra::Nothing))
}

/// What was found out about `device`, now if not before.
pub(super) fn prepare<'a>(
    document: &Document,
    device: Device<'_>,
    cache: &'a mut Cache,
) -> &'a Overview {
    let index = device.history.device;
    let known = cache.devices.iter().position(|(known, _)| *known == index);
    let place = known.unwrap_or_else(|| {
        cache.devices.push((index, device::make(document, device)));
        cache.devices.len() - 1
    });
    &cache.devices[place].1
}

/// The colour of a call site, the same as in every other view.
fn rgb_of(sites: &CallSites, site: CallSiteId, theme: &Theme) -> [u8; 3] {
    let hash = (site != CallSiteId::NONE).then(|| stable_hash(&sites.get(site).label));
    site_colour(theme, hash)
}

/// Call sites as rows; `whole` = bytes of all.
fn site_rows(sites: &CallSites, totals: &[SiteTotal], whole: u64, theme: &Theme) -> Vec<Row> {
    let largest = totals.iter().map(|total| total.bytes).max().unwrap_or(0);
    let row = |total: &SiteTotal| Row {
        label: sites.get(total.site).label.clone(),
        rgb: Some(rgb_of(sites, total.site, theme)),
        is_site: total.site != CallSiteId::NONE,
        bytes: total.bytes,
        count: total.count,
        share: share(total.bytes, largest),
        percent: Some(100.0 * share(total.bytes, whole)),
        remark: String::new(),
    };
    totals.iter().map(row).collect()
}

/// A part of a whole, 0 to 1; 0 of nothing.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    (part as f64 / whole as f64).min(1.0)
}

#[cfg(test)]
mod tests;
