import random


class ImagePool:
    """Sixteen earlier fakes for the discriminator (Shrivastava et al.); half of the time a fake is swapped with an older one."""

    def __init__(self, size=16, seed=0):
        self.size, self.images, self.dice = size, [], random.Random(seed)

    def query(self, fake):
        if len(self.images) < self.size:
            self.images.append(fake)
            return fake
        if self.dice.random() > 0.5:
            place = self.dice.randrange(self.size)
            old, self.images[place] = self.images[place], fake
            return old
        return fake
