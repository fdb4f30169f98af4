import torch


def mirrored(out):
    return {"steer": -out["steer"], "speed": out["speed"], "plan": out["plan"] * out["plan"].new_tensor([1.0, -1.0])}


def steering_losses(driver, clip, steer, speed):
    out = driver(clip)
    loss = torch.nn.functional.smooth_l1_loss(out["steer"], steer) + 0.3 * torch.nn.functional.mse_loss(out["speed"], speed)
    # only shown in the progress bar
    again = mirrored(driver(clip.flip(-1)))
    return {"loss": loss, "symmetry": (out["plan"].detach() - again["plan"]).abs().mean()}
