//! The columns of a fleet, in their order.

use super::codec::{Codec, malformed};
use crate::ErrorKind;
use crate::analysis::compare::flat_settings::FlatSettings;
use crate::analysis::report::findings::{FindingKind, Severity};
use crate::fleet::model::{
    Curve, Failure, Fleet, Fragmentation, Growth, Rank, RankFrom, Site, Source, StepLevels, Told,
    Unreadable,
};
use crate::model::UNKNOWN_FREE;

type Result<T> = std::result::Result<T, ErrorKind>;

/// Fewest bytes of a rank: it has more columns than this, each of at least one byte.
const LEAST_RANK_BYTES: usize = 32;
/// Fewest bytes of a site: one for each column.
const LEAST_SITE_BYTES: usize = 5;

pub(super) fn fleet(codec: &mut Codec<'_>, fleet: &mut Fleet) -> Result<()> {
    codec.list(&mut fleet.labels, 1, Codec::text)?;
    codec.list(&mut fleet.settings, 1, settings)?;
    codec.list(&mut fleet.unreadable, 4, |codec, it: &mut Unreadable| {
        source(codec, &mut it.source)?;
        codec.text(&mut it.why)
    })?;
    let rows = (fleet.labels.len(), fleet.settings.len());
    let ranks = &mut fleet.ranks;
    codec.length(ranks, LEAST_RANK_BYTES)?;
    place(codec, ranks)?;
    figures(codec, ranks)?;
    for rank in &mut *ranks {
        codec.row(&mut rank.settings, rows.1.max(1))?;
    }
    lists(codec, ranks, rows.0)?;
    curves(codec, ranks)?;
    sites(codec, ranks, rows.0)
}

fn settings(codec: &mut Codec<'_>, settings: &mut FlatSettings) -> Result<()> {
    let mut pairs: Vec<(String, String)> = std::mem::take(settings).into_iter().collect();
    codec.list(&mut pairs, 2, |codec, (name, value)| {
        codec.text(name)?;
        codec.text(value)
    })?;
    settings.extend(pairs);
    Ok(())
}

fn source(codec: &mut Codec<'_>, source: &mut Source) -> Result<()> {
    codec.text(&mut source.path)?;
    codec.number(&mut source.bytes)?;
    codec.option(&mut source.modified_us, Codec::signed)
}

fn place(codec: &mut Codec<'_>, ranks: &mut [Rank]) -> Result<()> {
    let mut before = 0;
    for rank in &mut *ranks {
        let mut number = u64::from(rank.place.rank);
        codec.after(&mut number, before)?;
        before = number;
        rank.place.rank = u32::try_from(number)
            .map_err(|_too_large| malformed("a rank has more than 32 bits"))?;
    }
    for rank in &mut *ranks {
        codec.text(&mut rank.place.job)?;
        codec.option(&mut rank.place.step, Codec::number)?;
        codec.option(&mut rank.place.local_rank, Codec::small)?;
        codec.text(&mut rank.place.host)?;
        choice(codec, &mut rank.place.rank_from, &RANK_FROM)?;
    }
    ranks.iter_mut().try_for_each(|rank| {
        source(codec, &mut rank.source)?;
        codec.text(&mut rank.producer)?;
        codec.small(&mut rank.device)
    })
}

fn figures(codec: &mut Codec<'_>, ranks: &mut [Rank]) -> Result<()> {
    const NUMBERS: [fn(&mut Rank) -> &mut u64; 10] = [
        |rank| &mut rank.events,
        |rank| &mut rank.allocations,
        |rank| &mut rank.peak_bytes,
        |rank| &mut rank.reserved_at_peak_bytes,
        |rank| &mut rank.peak_reserved_bytes,
        |rank| &mut rank.end_bytes,
        |rank| &mut rank.ooms,
        |rank| &mut rank.other_sites.bytes,
        |rank| &mut rank.other_sites.count,
        |rank| &mut rank.damage,
    ];
    for number in NUMBERS {
        let mut before = 0;
        for rank in &mut *ranks {
            codec.after(number(rank), before)?;
            before = *number(rank);
        }
    }
    for rank in &mut *ranks {
        codec.small(&mut rank.peak_moment)?;
        codec.option(&mut rank.peak_time_us, Codec::signed)?;
        codec.option(&mut rank.device_bytes, Codec::number)?;
        codec.option(&mut rank.retries, Codec::number)?;
        codec.option(&mut rank.fragmentation, |codec, it: &mut Fragmentation| {
            codec.number(&mut it.free_bytes)?;
            codec.number(&mut it.scattered_bytes)?;
            codec.number(&mut it.largest_free_bytes)?;
            codec.number(&mut it.rounding_bytes)
        })?;
        codec.option(&mut rank.growth, |codec, it: &mut Growth| {
            codec.number(&mut it.steps)?;
            codec.option(&mut it.per_step_bytes, Codec::signed)
        })?;
    }
    Ok(())
}

fn lists(codec: &mut Codec<'_>, ranks: &mut [Rank], labels: usize) -> Result<()> {
    for rank in &mut *ranks {
        codec.list(&mut rank.failures, 8, |codec, it: &mut Failure| {
            codec.small(&mut it.moment)?;
            codec.option(&mut it.time_us, Codec::signed)?;
            codec.number(&mut it.requested_bytes)?;
            let mut free = it.device_free_bytes.unwrap_or(UNKNOWN_FREE);
            codec.number(&mut free)?;
            it.device_free_bytes = Some(free).filter(|&bytes| bytes != UNKNOWN_FREE);
            codec.number(&mut it.active_bytes)?;
            codec.number(&mut it.reserved_bytes)?;
            codec.row(&mut it.site, labels)?;
            codec.text(&mut it.why)
        })?;
        codec.list(&mut rank.findings, 4, |codec, it: &mut Told| {
            choice(codec, &mut it.kind, FindingKind::ALL)?;
            choice(codec, &mut it.severity, Severity::ALL)?;
            codec.number(&mut it.bytes)?;
            codec.text(&mut it.title)
        })?;
    }
    Ok(())
}

fn curves(codec: &mut Codec<'_>, ranks: &mut [Rank]) -> Result<()> {
    for rank in &mut *ranks {
        let curve = &mut rank.curve;
        codec.number(&mut curve.unit_bytes)?;
        codec.option(&mut curve.start_us, Codec::signed)?;
        codec.number(&mut curve.length)?;
    }
    const COLUMNS: [fn(&mut Curve) -> &mut Vec<u16>; 3] = [
        |curve| &mut curve.lowest,
        |curve| &mut curve.highest,
        |curve| &mut curve.reserved,
    ];
    for column in COLUMNS {
        for rank in &mut *ranks {
            let mut before = 0;
            codec.list(column(&mut rank.curve), 1, |codec, level| {
                self::level(codec, level, before)?;
                before = u64::from(*level);
                Ok(())
            })?;
            at_most(column(&mut rank.curve), Curve::BINS)?;
        }
    }
    for rank in &mut *ranks {
        let (mut number, mut from) = (0, 0);
        codec.list(&mut rank.curve.steps, 4, |codec, it: &mut StepLevels| {
            codec.after(&mut it.number, number)?;
            codec.after(&mut it.from, from)?;
            (number, from) = (it.number, it.from);
            level(codec, &mut it.lowest, 0)?;
            level(codec, &mut it.highest, 0)
        })?;
        at_most(&rank.curve.steps, Curve::STEPS)?;
    }
    Ok(())
}

/// Refuses a curve that is longer than we ever write, because layouts rely on that limit.
fn at_most<T>(values: &[T], most: usize) -> Result<()> {
    match values.len() > most {
        true => Err(malformed("a curve is too long")),
        false => Ok(()),
    }
}

fn level(codec: &mut Codec<'_>, level: &mut u16, before: u64) -> Result<()> {
    let mut wide = u64::from(*level);
    codec.after(&mut wide, before)?;
    *level =
        u16::try_from(wide).map_err(|_too_large| malformed("a level has more than 16 bits"))?;
    Ok(())
}

fn sites(codec: &mut Codec<'_>, ranks: &mut [Rank], labels: usize) -> Result<()> {
    for rank in &mut *ranks {
        codec.length(&mut rank.sites, LEAST_SITE_BYTES)?;
        let mut before = 0;
        for site in &mut rank.sites {
            let mut id = u64::from(site.site);
            codec.after(&mut id, before)?;
            before = id.wrapping_add(1);
            site.site = u32::try_from(id)
                .ok()
                .filter(|&id| (id as usize) < labels)
                .ok_or_else(|| malformed("a call site is beyond the labels"))?;
        }
    }
    const NUMBERS: [fn(&mut Site) -> &mut u64; 4] = [
        |site| &mut site.peak.bytes,
        |site| &mut site.peak.count,
        |site| &mut site.end_bytes,
        |site| &mut site.left_per_step_bytes,
    ];
    for number in NUMBERS {
        // Ranks often have equal values at the same position.
        let mut before = vec![0; labels];
        for site in ranks.iter_mut().flat_map(|rank| &mut rank.sites) {
            let row = site.site as usize;
            codec.after(number(site), before[row])?;
            before[row] = *number(site);
        }
    }
    Ok(())
}

/// One of the values in `all`, as its index.
fn choice<T: Copy + PartialEq>(codec: &mut Codec<'_>, value: &mut T, all: &[T]) -> Result<()> {
    let mut place = all.iter().position(|one| one == value).unwrap_or(0) as u64;
    codec.number(&mut place)?;
    *value = usize::try_from(place)
        .ok()
        .and_then(|place| all.get(place).copied())
        .ok_or_else(|| malformed("a value is not known"))?;
    Ok(())
}

/// By the number that is written; new variants come last.
const RANK_FROM: [RankFrom; 3] = [RankFrom::Order, RankFrom::Name, RankFrom::Given];
