"""The paper's headline, measured: the utility of its six synthesizers against epsilon, claimed and audited."""
