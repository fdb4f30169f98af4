//! The largest value with which something fits, found in few tries.

/// Finds the largest value from `least` to `most` for which `fits` is true, assuming that it is true for all smaller
/// values too. `None` if not even `least` fits.
///
/// Starting at the least, each try doubles the distance; then the remaining range is halved. So the most expensive
/// tries are few.
///
/// # Errors
/// The first error of `fits`.
pub fn largest<E>(
    least: u64,
    most: u64,
    mut fits: impl FnMut(u64) -> Result<bool, E>,
) -> Result<Option<u64>, E> {
    let (mut good, mut step) = (None, 1);
    let mut bad = most.saturating_add(1);
    let mut next = least;
    while next < bad {
        if fits(next)? {
            good = Some(next);
        } else {
            bad = next;
        }
        next = match good {
            None => break,
            // Nothing has failed yet.
            Some(good) if bad > most => {
                step *= 2;
                if good == most {
                    break;
                } else {
                    (good + step / 2).min(most)
                }
            }
            Some(good) => good + (bad - good) / 2,
        };
        if good == Some(next) {
            break;
        }
    }
    Ok(good)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[test]
    fn every_border_is_found_in_few_tries() {
        for least in [0, 1, 5] {
            for most in least..70 {
                for border in 0..72 {
                    let mut tries = 0;
                    let found = largest(least, most, |value| {
                        assert!((least..=most).contains(&value));
                        tries += 1;
                        Ok::<_, Infallible>(value <= border)
                    });
                    let expected = (border >= least).then(|| border.min(most));
                    assert_eq!(found, Ok(expected), "{least}..={most}, {border}");
                    assert!(
                        tries <= 14,
                        "{tries} tries in {least}..={most} for {border}"
                    );
                }
            }
        }
    }

    #[test]
    fn an_error_ends_the_search() {
        assert_eq!(
            largest(1, 64, |value| if value < 4 { Ok(true) } else { Err(value) }),
            Err(4)
        );
    }
}
