"""Ray: an actor in a separate process trains."""
import ray

ray.init(num_cpus=1, include_dashboard=False)


@ray.remote
class Trainer:
    def train(self):
        import torch

        model = torch.nn.Linear(64, 64).cuda()
        optimizer = torch.optim.AdamW(model.parameters())
        for _ in range(4):
            model(torch.randn(8, 64, device="cuda")).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()


ray.get(Trainer.remote().train.remote())
ray.shutdown()
