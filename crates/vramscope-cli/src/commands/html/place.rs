//! The address that the file opens first.

use vramscope_core::model::DeviceIndex;
use vramscope_view::address::{DevicePlace, Pinned};
use vramscope_view::axes::events_between;

use crate::failure::Failure;
use crate::subject::Subject;

/// Finds the moments with these names, on the device asked for or the one with the highest peak.
pub(super) fn place(
    subject: &Subject,
    at: Option<&str>,
    range: Option<&str>,
) -> Result<DevicePlace, Failure> {
    let Some(device) = subject.main_device() else {
        return Ok(DevicePlace::default());
    };
    let range = range.map(|text| device.range(text)).transpose()?;
    let cursor = at.map(|text| device.moment(text)).transpose()?;
    // The stack of a failed request explains it.
    let has_failed = |moment: &u32| device.failed_requests().contains(moment);
    Ok(DevicePlace {
        device: unless_first(subject, device.index()),
        cursor,
        pinned: cursor.filter(has_failed).map(|_| Pinned::Event),
        range: range.filter(|(from, to)| from < to).map(events_between),
        ..DevicePlace::default()
    })
}

/// The device, unless the page shows it first anyway: naming it would add a step to the browser's history.
pub(super) fn unless_first(subject: &Subject, device: DeviceIndex) -> Option<DeviceIndex> {
    Some(device).filter(|&device| subject.first_device() != Some(device))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use vramscope_core::analysis::time::selection::Moments;
    use vramscope_view::address::{Address, FileKey};
    use vramscope_view::raster::Bands;

    use super::*;

    fn fixture(name: &str) -> Subject {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
        Subject::load(&fixtures.join(name), None).unwrap()
    }

    /// Parses a place as the page does.
    fn read(place: DevicePlace) -> DevicePlace {
        let file = FileKey {
            name: "a.pickle".to_owned(),
            bytes: Some(1),
            copy: 0,
        };
        let written = Address {
            file: Some(file),
            place,
            ..<Address>::default()
        };
        <Address>::parse(&written.to_text()).unwrap().place
    }

    #[test]
    fn the_page_selects_the_events_between_the_moments() {
        let subject = fixture("torch-2.15.0/training.pickle");
        let device = subject.main_device().unwrap();
        let bands = Bands::of(device.history, false);
        let end = device.history.event_count;
        let selected = |text: &str| -> Moments {
            let place = read(place(&subject, None, Some(text)).unwrap());
            let (from, to) = place.range.unwrap();
            let events = bands.moments_in(from, to).unwrap();
            (*events.start() - 1, *events.end())
        };
        assert_eq!(selected("10..50"), (10, 50));
        assert_eq!(selected("100..101"), (100, 101));
        assert_eq!(selected("all"), (0, end));
        assert_eq!(place(&subject, None, Some("7..7")).unwrap().range, None);
    }

    #[test]
    fn a_failed_request_is_pinned() {
        let subject = fixture("torch-2.15.0/oom_observer.pickle");
        let pinned = |at: &str| read(place(&subject, Some(at), None).unwrap()).pinned;
        assert_eq!(pinned("oom"), Some(Pinned::Event));
        assert_eq!(pinned("peak"), None);
    }

    #[test]
    fn the_device_that_is_first_anyway_is_not_named() {
        let subject = fixture("torch-2.15.0/two_devices.pickle");
        let first = subject.first_device().unwrap();
        assert_eq!(unless_first(&subject, first), None);
        assert_eq!(unless_first(&subject, 1 - first), Some(1 - first));
        let found = place(&subject, Some("end"), None).unwrap();
        assert_eq!((found.device, found.cursor.is_some()), (None, true));
    }
}
