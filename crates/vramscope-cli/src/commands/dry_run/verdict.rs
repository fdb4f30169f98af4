//! What a dry run tells: whether it fits, what the peak is made of, on which cards, and how sure that is.

use std::path::PathBuf;

use vramscope_core::analysis::recording::Recording;
use vramscope_core::analysis::report::overview::overview;
use vramscope_core::analysis::report::peak_roles::PeakRoles;
use vramscope_core::cards::CARDS;
use vramscope_core::model::DeviceIndex;
use vramscope_core::units::{Bytes, Count};
use vramscope_dryrun::device::Device;
use vramscope_dryrun::invented::{CUDNN_WORKSPACE, CUFFT_WORKSPACE, Invented, NCCL};

use crate::report::{Cell, Part, column, remark, sum};

/// A process of the program.
pub(super) struct Judged {
    /// Its snapshot.
    pub(super) path: PathBuf,
    recording: Recording,
    /// Highest active and reserved bytes, and failed requests, of the device with the most reserved.
    peaks: [u64; 3],
    /// That device.
    device: DeviceIndex,
    /// Copies to the host of what nobody computed.
    read_back: u64,
}

impl Judged {
    /// Torch's own peaks and the recorded ones: a program may set the former back, and a recording may have begun late.
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
            if here[1] > peaks[1] {
                (peaks, highest) = (here, device.index());
            }
        }
        let read_back = mark.and_then(|mark| mark.get("read_back")?.get(0));
        let read_back = number(read_back);
        Self {
            path,
            recording,
            peaks,
            device: highest,
            read_back,
        }
    }

    pub(super) fn has_used_memory(&self) -> bool {
        self.peaks[1] > 0
    }

    pub(super) fn reserved_bytes(&self) -> u64 {
        self.peaks[1]
    }

    /// Whether no request failed.
    pub(super) fn fits(&self) -> bool {
        self.peaks[2] == 0
    }

    /// The answer.
    pub(super) fn part(&mut self, device: &Device, has_peers: bool) -> Part {
        let [active, reserved, failed] = self.peaks;
        let mut part = Part {
            file: "dry run".to_owned(),
            ..Part::default()
        };
        let card = format!("{} ({})", device.name, Bytes(device.total_bytes));
        let free = Bytes(device.free_bytes());
        let verdict = match failed {
            0 => format!(
                "it fits on the {card}: {} of {free} reserved at most",
                Bytes(reserved)
            ),
            1 => format!("it does not fit on the {card}: one request failed"),
            _ => format!(
                "it does not fit on the {card}: {} requests failed",
                Count(failed)
            ),
        };
        part.fact("verdict", "verdict", Cell::Text(verdict));
        part.fact("fits", "", Cell::Flag(failed == 0));
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
        self.cards(&mut part, device);
        invented(&mut part, device, has_peers);
        part
    }

    /// On which cards it fits: surely where all that was reserved has room, surely not where what is live has none.
    fn cards(&self, part: &mut Part, ran_on: &Device) {
        let [active, reserved, failed] = self.peaks;
        let rows = CARDS.iter().filter_map(|card| {
            let device = Device::of(card)?;
            let free = device.free_bytes();
            let answer = match () {
                () if free < active => "no",
                () if failed > 0 && free <= ran_on.free_bytes() => "no",
                () if failed > 0 => "unknown: it failed before it was done",
                () if free >= reserved => "yes",
                () => "perhaps: what is live has room, what is reserved has not",
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

/// What the verdict rests on that is neither the program's nor torch's.
fn invented(part: &mut Part, device: &Device, has_peers: bool) {
    let all = [device.context(), CUDNN_WORKSPACE, CUFFT_WORKSPACE, NCCL];
    let all = all.iter().filter(|it| has_peers || **it != NCCL);
    let row = |it: &Invented| {
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
