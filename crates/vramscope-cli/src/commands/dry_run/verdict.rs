//! The result of a dry run: whether it fits, what the peak is made of, on which cards, and how sure that is.

use std::path::PathBuf;

use vramscope_core::analysis::recording::Recording;
use vramscope_core::analysis::report::overview::overview;
use vramscope_core::analysis::report::peak_roles::PeakRoles;
use vramscope_core::cards::CARDS;
use vramscope_core::model::DeviceIndex;
use vramscope_core::units::{Bytes, Count};
use vramscope_dryrun::device::Device;
use vramscope_dryrun::invented::{Invented, ON_REQUEST};

use crate::report::{Cell, Part, column, remark, sum};

/// What a verdict needs to know besides the process.
pub(super) struct Circumstances<'a> {
    pub(super) device: &'a Device,
    /// How the program ended, if it failed.
    pub(super) ended: Option<String>,
    /// The most that the program's other processes used of the same device, in bytes.
    pub(super) others_bytes: u64,
}

pub(super) struct Judged {
    pub(super) path: PathBuf,
    recording: Recording,
    /// Highest active and reserved bytes, and failed requests, on the device with the most failures, or else the most
    /// reserved.
    peaks: [u64; 3],
    /// The device of `peaks`.
    device: DeviceIndex,
    /// Copies to the host of data that nobody computed.
    read_back: u64,
    /// Invented values it asked for, besides the context.
    invented: Vec<Invented>,
}

impl Judged {
    /// Combines torch's own peaks and the recorded ones: a program may reset the former, and a recording may begin
    /// late.
    pub(super) fn of(path: PathBuf, recording: Recording) -> Self {
        let mark = recording.snapshot.dry_run();
        let told = mark.and_then(|mark| mark.get("peaks")?.as_object());
        let (mut peaks, mut highest): ([u64; 3], DeviceIndex) = ([0; 3], 0);
        let number = |value: Option<&serde_json::Value>| {
            value.and_then(serde_json::Value::as_u64).unwrap_or(0)
        };
        for device in recording.devices() {
            let told = told.and_then(|told| told.get(&device.index().to_string()));
            let told = [0, 1, 2].map(|place| number(told.and_then(|told| told.get(place))));
            let history = device.history;
            let here = [
                told[0].max(history.active_bytes_at(history.peak_moment)),
                told[1].max(history.most_reserved_bytes()),
                told[2].max(device.failed_requests().len() as u64),
            ];
            // Failures count before reserved memory.
            if (here[2], here[1]) > (peaks[2], peaks[1]) {
                (peaks, highest) = (here, device.index());
            }
        }
        let read_back = mark.and_then(|mark| mark.get("read_back")?.get(0));
        let read_back = number(read_back);
        let asked = mark.and_then(|mark| mark.get("invented"));
        let asked = |place: usize| asked.is_some_and(|asked| number(asked.get(place)) > 0);
        let invented = (0..).zip(ON_REQUEST).filter(|(place, _)| asked(*place));
        let invented = invented.map(|(_, invented)| invented).collect();
        Self {
            path,
            recording,
            peaks,
            device: highest,
            read_back,
            invented,
        }
    }

    /// The invented values behind the verdict.
    fn assumed(&self, device: &Device) -> impl Iterator<Item = Invented> {
        std::iter::once(device.context()).chain(self.invented.iter().copied())
    }

    /// How far they may be off together, in bytes.
    fn spread_bytes(&self, device: &Device) -> u64 {
        self.assumed(device).map(|it| it.spread_bytes).sum()
    }

    /// The same in words.
    fn spread(&self, device: &Device) -> String {
        let parts: Vec<_> = self
            .assumed(device)
            .map(|it| format!("{} for {}", Bytes(it.spread_bytes), it.what))
            .collect();
        match &parts[..] {
            [context] => format!("give or take {context}"),
            several => format!(
                "give or take {}: {}",
                Bytes(self.spread_bytes(device)),
                several.join(", ")
            ),
        }
    }

    pub(super) fn has_used_memory(&self) -> bool {
        self.peaks[1] > 0 || self.peaks[2] > 0
    }

    /// The most it used of a device, in bytes, including its context; 0 if it used another device.
    pub(super) fn taken_of(&self, other: &Self, card: &Device) -> u64 {
        match self.device == other.device {
            true => self.peaks[1] + card.context().bytes,
            false => 0,
        }
    }

    pub(super) fn reserved_bytes(&self) -> u64 {
        self.peaks[1]
    }

    /// Whether no request failed.
    pub(super) fn fits(&self) -> bool {
        self.peaks[2] == 0
    }

    /// The verdict in words, and whether it fits, if that is known.
    fn verdict(&self, run: &Circumstances<'_>) -> (String, Cell) {
        let [_, reserved, failed] = self.peaks;
        let device = run.device;
        let card = format!("{} ({})", device.name, Bytes(device.total_bytes));
        let free = device.free_bytes();
        let left = free.saturating_sub(reserved);
        let of_free = format!("{} of {}", Bytes(reserved), Bytes(free));
        match (failed, &run.ended) {
            (1, _) => (
                format!("it does not fit on the {card}: one request failed"),
                Cell::Flag(false),
            ),
            (2.., _) => (
                format!(
                    "it does not fit on the {card}: {} requests failed",
                    Count(failed)
                ),
                Cell::Flag(false),
            ),
            (0, Some(ended)) => (
                format!("it had room on the {card} until {ended}: {of_free} reserved"),
                Cell::None,
            ),
            (0, None) if run.others_bytes > left => (
                format!(
                    "perhaps not on one {card}: the program's processes take {} together, if each has its most at once",
                    Bytes(run.others_bytes + reserved + device.context().bytes)
                ),
                Cell::None,
            ),
            (0, None) if left < self.spread_bytes(device) => (
                format!(
                    "it just fits on the {card}, unless CUDA takes more than assumed: {of_free} reserved at most, {}",
                    self.spread(device)
                ),
                Cell::None,
            ),
            (0, None) => (
                format!(
                    "it fits on the {card}: {of_free} reserved at most, {}",
                    self.spread(device)
                ),
                Cell::Flag(true),
            ),
        }
    }

    pub(super) fn part(&mut self, run: &Circumstances<'_>) -> Part {
        let [active, reserved, failed] = self.peaks;
        let device = run.device;
        let mark = self.recording.snapshot.dry_run();
        let rank = mark.and_then(|mark| mark.get("rank")?.as_str());
        let process = self.path.file_stem().unwrap_or_default().to_string_lossy();
        let mut part = Part {
            file: match rank {
                Some(rank) => format!("dry run, rank {rank}, process {process}"),
                None => format!("dry run, process {process}"),
            },
            ..Part::default()
        };
        let (verdict, fits) = self.verdict(run);
        part.fact("verdict", "verdict", Cell::Text(verdict));
        part.fact("fits", "", fits);
        part.fact("card_bytes", "", Cell::Bytes(device.total_bytes));
        part.fact_with("active_bytes", "peak active", Cell::Bytes(active), "");
        let left = Bytes(device.free_bytes().saturating_sub(reserved));
        part.fact_with(
            "reserved_bytes",
            "peak reserved",
            Cell::Bytes(reserved),
            format!("{left} left"),
        );
        part.fact("failed_requests", "", Cell::Number(failed));
        part.fact_with(
            "read_back",
            "values read back",
            Cell::Number(self.read_back),
            match self.read_back {
                0 => "",
                _ => "invented ones: what depends on them may differ on a card",
            },
        );
        if let Some(main) = self.recording.device(self.device) {
            let overview = overview(main, 0);
            part.prose.push(overview.verdict());
            roles(&mut part, &overview.roles);
        }
        self.cards(&mut part, run);
        assumed(&mut part, self.assumed(device));
        part
    }

    /// The cards on which it fits: certainly not those too small for the live memory. Kernels of another generation may
    /// need other workspaces.
    fn cards(&self, part: &mut Part, run: &Circumstances<'_>) {
        let [active, reserved, failed] = self.peaks;
        let ran_on = run.device;
        let rows = CARDS.iter().filter_map(|card| {
            let device = Device::of(card)?;
            let free = device.free_bytes();
            let is_ended = failed > 0 || run.ended.is_some();
            let answer = match () {
                () if free + device.context().spread_bytes < active => "no",
                () if failed > 0 && free <= ran_on.free_bytes() => "no",
                () if is_ended => "unknown: it ended before it was done",
                () if free < active => "perhaps: only if CUDA takes less than assumed",
                () if free < reserved => "perhaps: what is live has room, what is reserved has not",
                () if free - reserved < self.spread_bytes(&device) => "perhaps: it is close",
                () if device.capability != ran_on.capability => {
                    "likely: its kernels may need other workspaces"
                }
                () => "yes",
            };
            Some(vec![
                Cell::Bytes(device.total_bytes),
                Cell::Text(card.name.to_owned()),
                Cell::Text(answer.to_owned()),
            ])
        });
        let columns = [
            column("bytes", "memory"),
            column("card", "card"),
            remark("fits", "does it fit?"),
        ];
        part.table("cards", "", &columns, rows.collect());
    }
}

/// What the peak is made of.
fn roles(part: &mut Part, roles: &PeakRoles) {
    let rows = roles.rows.iter().map(|row| {
        let share = row.bytes as f64 / roles.peak_bytes.max(1) as f64;
        vec![
            Cell::Bytes(row.bytes),
            Cell::Share(share),
            Cell::Number(row.count),
            Cell::Text(row.role.label().to_owned()),
        ]
    });
    let columns = [
        sum("bytes", "bytes"),
        sum("share", "share"),
        sum("allocations", "allocations"),
        column("role", "at the peak"),
    ];
    part.table("roles", "", &columns, rows.collect());
}

/// The invented values behind the verdict.
fn assumed(part: &mut Part, all: impl Iterator<Item = Invented>) {
    let row = |it: Invented| {
        let basis = format!("{:?}", it.basis).to_lowercase();
        vec![
            Cell::Bytes(it.bytes),
            Cell::Bytes(it.spread_bytes),
            Cell::Text(it.what.to_owned()),
            Cell::Text(format!("{basis}: {}", it.why)),
        ]
    };
    let columns = [
        column("bytes", "taken as"),
        column("spread_bytes", "give or take"),
        column("what", "what CUDA alone knows"),
        remark("basis", "basis"),
    ];
    part.table("invented", "", &columns, all.map(row).collect());
}

#[cfg(test)]
mod tests {
    use vramscope_core::cards::Card;
    use vramscope_core::decode;

    use super::*;

    const GIB: u64 = 1 << 30;

    /// A process with these reserved bytes and failed requests on each device.
    fn judged(devices: &[(u64, u64)]) -> Judged {
        let segments = (0..devices.len()).map(|device| {
            serde_json::json!({
                "device": device, "address": 2 << 20, "total_size": 2 << 20, "allocated_size": 0, "active_size": 0,
                "requested_size": 0, "stream": 0, "segment_type": "small",
                "blocks": [{"address": 2 << 20, "size": 2 << 20, "requested_size": 0, "state": "inactive"}],
            })
        });
        let peaks = devices
            .iter()
            .enumerate()
            .map(|(device, (reserved, failed))| {
                (
                    device.to_string(),
                    serde_json::json!([reserved, reserved, failed]),
                )
            });
        let snapshot = serde_json::json!({
            "segments": segments.collect::<Vec<_>>(),
            "device_traces": vec![(); devices.len()].iter().map(|()| [(); 0]).collect::<Vec<_>>(),
            "dry_run": {"peaks": peaks.collect::<serde_json::Map<_, _>>()},
        });
        let snapshot = decode(snapshot.to_string().as_bytes()).unwrap();
        Judged::of(PathBuf::from("4711.pickle"), Recording::of(snapshot))
    }

    fn verdict(judged: &Judged, ended: Option<&str>, others_bytes: u64) -> (String, bool) {
        let device = Device::of(Card::called("rtx4090").unwrap()).unwrap();
        let (text, fits) = judged.verdict(&Circumstances {
            device: &device,
            ended: ended.map(str::to_owned),
            others_bytes,
        });
        (text, matches!(fits, Cell::Flag(true)))
    }

    #[test]
    fn a_request_that_failed_counts_wherever_it_was() {
        for devices in [&[(20 * GIB, 0), (10 * GIB, 1)][..], &[(0, 1)]] {
            let judged = judged(devices);
            assert!(judged.has_used_memory());
            assert!(!judged.fits());
            let (text, fits) = verdict(&judged, None, 0);
            assert!(text.starts_with("it does not fit") && !fits, "{text}");
        }
    }

    #[test]
    fn it_fits_only_if_nothing_speaks_against_it() {
        let small = judged(&[(8 * GIB, 0)]);
        assert!(verdict(&small, None, 0).1);
        let ended = verdict(&small, Some("the program ended with exit code 1"), 0);
        assert!(
            ended.0.starts_with("it had room on the RTX 4090"),
            "{}",
            ended.0
        );
        assert!(ended.0.contains("until the program ended with exit code 1") && !ended.1);
        let with_others = verdict(&small, None, 20 * GIB);
        assert!(with_others.0.starts_with("perhaps not on one RTX 4090") && !with_others.1);
        let close = verdict(&judged(&[(23 * GIB, 0)]), None, 0);
        assert!(
            close.0.starts_with("it just fits") && !close.1,
            "{}",
            close.0
        );
    }

    /// A convolution's workspace is a guess, which outweighs what is known of the context.
    #[test]
    fn what_was_asked_for_says_how_sure_it_is() {
        let device = Device::of(Card::called("rtx4090").unwrap()).unwrap();
        let mut judged = judged(&[(22 * GIB, 0)]);
        assert_eq!(
            judged.spread(&device),
            "give or take 150 MiB for CUDA's context and kernels"
        );
        assert!(verdict(&judged, None, 0).1);
        judged.invented = vec![ON_REQUEST[0]];
        let (text, fits) = verdict(&judged, None, 0);
        assert!(text.starts_with("it just fits") && !fits, "{text}");
        assert!(
            text.ends_with(
                "give or take 1.15 GiB: 150 MiB for CUDA's context and kernels, 1.00 GiB for cuDNN's workspace of a convolution"
            ),
            "{text}"
        );
    }

    #[test]
    fn processes_on_one_device_are_added() {
        let device = Device::of(Card::called("rtx4090").unwrap()).unwrap();
        let [one, same, other] = [
            &[(8 * GIB, 0)][..],
            &[(4 * GIB, 0)],
            &[(0, 0), (4 * GIB, 0)],
        ]
        .map(judged);
        assert_eq!(
            same.taken_of(&one, &device),
            4 * GIB + device.context().bytes
        );
        assert_eq!(other.taken_of(&one, &device), 0);
    }
}
