//! The search over ranks and call sites.
//!
//! Words that follow each other must all match. A word of digits is a rank's number, `3-7` are several; `oom` are those
//! with failed requests, `odd` those that differ from the rest. A word that occurs in the host, the job or the path of
//! some rank is about ranks. Any other is part of a call site: those are shown, and the ranks that have one of them.

use std::cmp::Reverse;
use std::collections::HashSet;

use vramscope_core::fleet::questions::{SiteFigure, SiteSpread, median_rank, sites_among};
use vramscope_core::fleet::{Fleet, Rank, SiteId};
use vramscope_core::sorting::SortFew;
use vramscope_protocol::views::fleet::{Order, Shown};

use super::Oddness;

/// What a search finds.
pub(super) struct Found {
    pub(super) of: Shown,
    /// Ranks, in the chosen order.
    pub(super) ranks: Vec<u32>,
    /// Call sites over these ranks, once they were asked for.
    sites: Option<Vec<SiteSpread>>,
    /// Parts of call sites that are searched for, in small letters.
    texts: Vec<String>,
}

/// A word of the search.
enum Word {
    /// Ranks of these numbers, both included.
    Numbers(u32, u32),
    /// Ranks with failed requests.
    Oom,
    /// Ranks that differ from the rest.
    Odd,
    /// Part of a name of ranks, in small letters.
    Name(String),
    /// Part of a call site, in small letters.
    Site(String),
}

impl Word {
    fn of(text: &str, fleet: &Fleet) -> Self {
        let text = text.to_lowercase();
        let (from, to) = text.split_once('-').unwrap_or((&text, &text));
        if let (Ok(from), Ok(to)) = (from.parse(), to.parse()) {
            return Self::Numbers(from, to);
        }
        match text.as_str() {
            "oom" => Self::Oom,
            "odd" => Self::Odd,
            _ if fleet.ranks.iter().any(|rank| is_named(rank, &text)) => Self::Name(text),
            _ => Self::Site(text),
        }
    }

    fn has(&self, rank: &Rank, odd: &Oddness, sites: &HashSet<SiteId>) -> bool {
        match self {
            Self::Numbers(from, to) => (*from..=*to).contains(&rank.place.rank),
            Self::Oom => rank.ooms > 0,
            Self::Odd => odd.is_odd(),
            Self::Name(text) => is_named(rank, text),
            Self::Site(_) => {
                let mut held = rank.sites.iter().filter(|row| row.peak.bytes > 0);
                held.any(|row| sites.contains(&row.site))
            }
        }
    }
}

fn is_named(rank: &Rank, text: &str) -> bool {
    let names = [&rank.place.host, &rank.place.job, &rank.source.path];
    names.iter().any(|name| name.to_lowercase().contains(text))
}

fn has_all(label: &str, texts: &[String]) -> bool {
    let label = label.to_lowercase();
    texts.iter().all(|text| label.contains(text.as_str()))
}

impl Found {
    pub(super) fn of(fleet: &Fleet, odd: &[Oddness], shown: &Shown) -> Self {
        let words = shown.search.split_whitespace();
        let words: Vec<Word> = words.map(|text| Word::of(text, fleet)).collect();
        let texts = words.iter().filter_map(|word| match word {
            Word::Site(text) => Some(text.clone()),
            _ => None,
        });
        let texts: Vec<String> = texts.collect();
        let labels = (0..).zip(&fleet.labels);
        let sites = labels.filter(|(_, label)| has_all(label, &texts));
        let sites: HashSet<SiteId> = sites.map(|(id, _)| id).collect();
        let ranks = (0_u32..).zip(&fleet.ranks).zip(odd);
        let kept =
            ranks.filter(|((_, rank), odd)| words.iter().all(|word| word.has(rank, odd, &sites)));
        let mut ranks: Vec<u32> = kept.map(|((id, _), _)| id).collect();
        let rank = |id: u32| (&fleet.ranks[id as usize], &odd[id as usize]);
        // Of equal ones, the first rank first.
        match shown.order {
            Order::Rank => {}
            Order::Peak => ranks.sort_few_by_key(|&id| (Reverse(rank(id).0.peak_bytes), id)),
            Order::Odd => ranks.sort_few_by(|&a, &b| {
                let score = |id: u32| rank(id).1.score;
                score(b).total_cmp(&score(a)).then(a.cmp(&b))
            }),
        }
        Self {
            of: shown.clone(),
            ranks,
            sites: None,
            texts,
        }
    }

    /// The rank with the median peak of those found that are of the same job and step as this one.
    pub(super) fn median(&self, fleet: &Fleet, rank: &Rank) -> Option<u32> {
        let is_like = |id: &u32| {
            let other = fleet.ranks.get(*id as usize).map(|other| &other.place);
            other.is_some_and(|it| (&it.job, it.step) == (&rank.place.job, rank.place.step))
        };
        let like = self.ranks.iter().copied().filter(is_like);
        Some(median_rank(fleet, &ascending(like))? as u32)
    }

    /// The call sites over the found ranks, by the most of a rank.
    pub(super) fn sites(&mut self, fleet: &Fleet) -> &[SiteSpread] {
        let (ranks, texts) = (&self.ranks, &self.texts);
        self.sites.get_or_insert_with(|| {
            let ranks = ascending(ranks.iter().copied());
            let mut spreads = sites_among(fleet, &ranks, SiteFigure::Peak);
            spreads.retain(|spread| has_all(fleet.label(spread.site), texts));
            spreads
        })
    }
}

/// Ranks in the order of the fleet.
fn ascending(ranks: impl Iterator<Item = u32>) -> Vec<usize> {
    let mut ranks: Vec<usize> = ranks.map(|rank| rank as usize).collect();
    ranks.sort_few_by_key(|&rank| rank);
    ranks
}
